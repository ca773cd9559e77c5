// littlefs behind pointers: the structures of lfs.h stay in C, so that Rust need not know how they are laid out.
//
// Every function returns what littlefs does: an error is negative, and its number is that of an errno.

#include <stdlib.h>
#include <string.h>

#include "lfs.h"

// A block device. Each call returns 0 or a negative error.
struct device {
    void *context;
    int (*read)(void *context, uint32_t block, uint32_t offset, void *buffer, uint32_t size);
    int (*prog)(void *context, uint32_t block, uint32_t offset, const void *buffer, uint32_t size);
    int (*erase)(void *context, uint32_t block);
    int (*sync)(void *context);
};

struct geometry {
    uint32_t prog_size;
    uint32_t block_size;
    uint32_t block_count;
    uint32_t cache_size;
    int32_t block_cycles;
};

struct volume {
    lfs_t lfs;
    struct lfs_config config;
    struct device device;
    uint8_t lookahead[16];
    uint8_t *caches;
};

struct file {
    lfs_file_t file;
    struct lfs_file_config config;
};

static const struct device *device_of(const struct lfs_config *config) {
    return &((const struct volume *)config->context)->device;
}

static int device_read(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, void *buffer, lfs_size_t size) {
    const struct device *device = device_of(config);
    return device->read(device->context, block, offset, buffer, size);
}

static int device_prog(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, const void *buffer, lfs_size_t size) {
    const struct device *device = device_of(config);
    return device->prog(device->context, block, offset, buffer, size);
}

static int device_erase(const struct lfs_config *config, lfs_block_t block) {
    const struct device *device = device_of(config);
    return device->erase(device->context, block);
}

static int device_sync(const struct lfs_config *config) {
    const struct device *device = device_of(config);
    return device->sync(device->context);
}

// A volume that is not mounted; null without memory. Freed by explode_lfs_free.
struct volume *explode_lfs_new(const struct device *device, const struct geometry *geometry) {
    struct volume *volume = calloc(1, sizeof(*volume));
    uint8_t *caches = calloc(2, geometry->cache_size);
    if (!volume || !caches) {
        free(volume);
        free(caches);
        return NULL;
    }
    volume->device = *device;
    volume->caches = caches;
    volume->config = (struct lfs_config){
        .context = volume,
        .read = device_read,
        .prog = device_prog,
        .erase = device_erase,
        .sync = device_sync,
        .read_size = geometry->prog_size,
        .prog_size = geometry->prog_size,
        .block_size = geometry->block_size,
        .block_count = geometry->block_count,
        .block_cycles = geometry->block_cycles,
        .cache_size = geometry->cache_size,
        .lookahead_size = sizeof(volume->lookahead),
        .read_buffer = caches,
        .prog_buffer = caches + geometry->cache_size,
        .lookahead_buffer = volume->lookahead,
    };
    return volume;
}

// Frees its memory, and does nothing else: all of its buffers are ours.
void explode_lfs_free(struct volume *volume) {
    free(volume->caches);
    free(volume);
}

uint32_t explode_lfs_version(void) { return LFS_VERSION; }

int explode_lfs_format(struct volume *volume) { return lfs_format(&volume->lfs, &volume->config); }

int explode_lfs_mount(struct volume *volume) { return lfs_mount(&volume->lfs, &volume->config); }

int explode_lfs_mkconsistent(struct volume *volume) { return lfs_fs_mkconsistent(&volume->lfs); }

int explode_lfs_unmount(struct volume *volume) { return lfs_unmount(&volume->lfs); }

// Opens a file for reading and writing. Freed by explode_lfs_file_free.
int explode_lfs_file_open(struct volume *volume, const char *path, int flags, struct file **opened) {
    struct file *file = calloc(1, sizeof(*file));
    void *buffer = calloc(1, volume->config.cache_size);
    int error = LFS_ERR_NOMEM;
    if (file && buffer) {
        file->config.buffer = buffer;
        error = lfs_file_opencfg(&volume->lfs, &file->file, path, LFS_O_RDWR | flags, &file->config);
    }
    if (error) {
        free(buffer);
        free(file);
        return error;
    }
    *opened = file;
    return 0;
}

int explode_lfs_file_close(struct volume *volume, struct file *file) { return lfs_file_close(&volume->lfs, &file->file); }

// Frees the memory of a file that was closed, or whose volume is not used any more.
void explode_lfs_file_free(struct file *file) {
    free(file->config.buffer);
    free(file);
}

int explode_lfs_file_sync(struct volume *volume, struct file *file) { return lfs_file_sync(&volume->lfs, &file->file); }

int32_t explode_lfs_file_size(struct volume *volume, struct file *file) { return lfs_file_size(&volume->lfs, &file->file); }

int32_t explode_lfs_file_read(struct volume *volume, struct file *file, uint32_t at, void *buffer, uint32_t size) {
    lfs_soff_t sought = lfs_file_seek(&volume->lfs, &file->file, (lfs_soff_t)at, LFS_SEEK_SET);
    return sought < 0 ? sought : lfs_file_read(&volume->lfs, &file->file, buffer, size);
}

int32_t explode_lfs_file_write(struct volume *volume, struct file *file, uint32_t at, const void *buffer, uint32_t size) {
    lfs_soff_t sought = lfs_file_seek(&volume->lfs, &file->file, (lfs_soff_t)at, LFS_SEEK_SET);
    return sought < 0 ? sought : lfs_file_write(&volume->lfs, &file->file, buffer, size);
}

int explode_lfs_file_truncate(struct volume *volume, struct file *file, uint32_t size) {
    return lfs_file_truncate(&volume->lfs, &file->file, size);
}

int explode_lfs_stat(struct volume *volume, const char *path, int *is_directory, uint32_t *size) {
    struct lfs_info info;
    int error = lfs_stat(&volume->lfs, path, &info);
    if (!error) {
        *is_directory = info.type == LFS_TYPE_DIR;
        *size = info.size;
    }
    return error;
}

// Calls back with each name in a directory but its own and its parent's.
int explode_lfs_list(struct volume *volume, const char *path, void *context, void (*each)(void *, const char *, int)) {
    lfs_dir_t directory;
    struct lfs_info info;
    int error = lfs_dir_open(&volume->lfs, &directory, path);
    if (error) {
        return error;
    }
    while ((error = lfs_dir_read(&volume->lfs, &directory, &info)) > 0) {
        if (strcmp(info.name, ".") && strcmp(info.name, "..")) {
            each(context, info.name, info.type == LFS_TYPE_DIR);
        }
    }
    int closed = lfs_dir_close(&volume->lfs, &directory);
    return error ? error : closed;
}

int explode_lfs_mkdir(struct volume *volume, const char *path) { return lfs_mkdir(&volume->lfs, path); }

int explode_lfs_remove(struct volume *volume, const char *path) { return lfs_remove(&volume->lfs, path); }

int explode_lfs_rename(struct volume *volume, const char *from, const char *to) {
    return lfs_rename(&volume->lfs, from, to);
}
