/* A kernel faults. `files closed FILE`: standard error is closed by then, and the file has its number. `files put FILE`: the program has put
 * the file there. `files waits`: it faults once nobody reads what this writes to standard error, which standard input tells. */
#include "../check/driver.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count < 2)
        return 2;
    if (!strcmp(words[1], "waits"))
        while (getchar() != EOF) {
        }
    int is_closed = !strcmp(words[1], "closed");
    if (count > 2) {
        if (is_closed)
            close(2);
        int file = open(words[2], O_CREAT | O_RDWR, 0600);
        if (is_closed ? file != 2 : dup2(file, 2) != 2)
            return 3;
    }
    begin();
    OK(fill_on(NULL, 64, 64, 1));
    return cuCtxSynchronize() == 700 && (!is_closed || lseek(2, 0, SEEK_END) == 0) ? 0 : 5;
}
