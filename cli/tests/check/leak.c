/* Two events that nobody destroys. */
#include "driver.h"

int main(void) {
    begin();
    for (int i = 0; i < 2; i++) {
        handle event;
        OK(cuEventCreate(&event, 0));
#ifndef WRONG
        OK(cuEventDestroy_v2(event));
#endif
    }
    end();
}
