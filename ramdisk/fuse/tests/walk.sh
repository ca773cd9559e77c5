# walk SEED FOLDER: makes random calls in a folder, and prints the result of each and the final tree.
walk() (
    cd "$2" || exit 1
    awk -v seed="$1" 'BEGIN {
        srand(seed)
        split("a b c d/a d/b e/a e/b d e", names, " ")
        for (k = 0; k < 300; k++) {
            x = names[int(rand() * 9) + 1]; y = names[int(rand() * 9) + 1]; n = int(rand() * 9000)
            c = int(rand() * 14)
            if (c == 0) print "mkdir " x
            else if (c == 1) print "rmdir " x
            else if (c == 2) print "echo " k " >" x
            else if (c == 3) print "echo " k " >>" x
            else if (c == 4) print "truncate -c -s " n " " x
            else if (c == 5) print "rm -f " x
            else if (c == 6) print "mv -T " x " " y " </dev/null"
            else if (c == 7) print "ln " x " " y
            else if (c == 8) print "ln -s " x " " y
            else if (c == 9) print "chmod 6" (n % 8) (n % 5) " " x
            else if (c == 10) print "cat " x
            else if (c == 11) print "dd if=/dev/zero bs=1 count=5 conv=notrunc seek=" n " of=" x
            else if (c == 12) print "mv -nT " x " " y
            else print "fallocate -l " n " " x
        }
    }' | while read -r call; do
        (eval "$call") >/tmp/said 2>/dev/null
        echo "$call: $? $(cksum </tmp/said)"
    done
    find . -type f -exec md5sum {} + | sort | md5sum
    find . ! -type l -printf '%p %y %m\n' | sort | md5sum
    find . -type f -printf '%p %n %s\n' | sort | md5sum
    find . -type l -printf '%p %l\n' | sort | md5sum
)
