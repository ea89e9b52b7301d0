// ICU's data as a common data package that is empty. See data.c.
