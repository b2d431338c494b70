/* As the program that this one includes, with the nodes changed in the graph, before it is instantiated. */
#define IN_THE_GRAPH
#include "changed_nodes_of_a_capture.c"
