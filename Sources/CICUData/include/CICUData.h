// An empty ICU data package. data.c explains its purpose.
