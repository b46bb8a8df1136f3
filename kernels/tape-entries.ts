/** The tape's types as `workers/tape/tape-types.ts` has them; a test holds the two together. */
export const NULL: i32 = 0
export const FALSE: i32 = 1
export const TRUE: i32 = 2
export const INT: i32 = 3
export const UINT: i32 = 4
export const FLOAT: i32 = 5
export const STRING: i32 = 6
export const ESCAPED: i32 = 7
export const ARRAY: i32 = 8
export const OBJECT: i32 = 9
export const EXTENSION: i32 = 10
export const DEAD: i32 = 11
export const ELEMENT: i32 = 12

/** Bytes an entry takes. */
export const ENTRY_BYTES: usize = 16
