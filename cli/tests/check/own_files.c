/* Wrong, and otherwise right: a program that closes files which are not its own, opens one under the number of another, and empties its
 * environment. What is found must not get into its file. `own_files stderr|others|environment` */
#include "driver.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count < 3)
        return 2;
    if (!strcmp(words[1], "environment"))
        clearenv();
    begin();
    if (!strcmp(words[1], "stderr"))
        close(2);
    if (!strcmp(words[1], "others"))
        for (int file = 3; file < 256; file++)
            close(file);
    int files[16];
    for (int i = 0; i < 16; i++)
        files[i] = open(words[2], O_CREAT | O_RDWR | O_APPEND, 0600);
    handle first, second;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(fill_on(first, x, 64, 1));
    OK(fill_on(second, x, 64, 2));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    end();
    return lseek(files[0], 0, SEEK_END) == 0 ? 0 : 5;
}
