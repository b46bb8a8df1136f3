/** Tests of a byte range of the tape. */

/** Of a string: UTF-8 without escapes. */
export type StringTest = (bytes: Buffer, start: number, end: number) => boolean

/** Of a JSON number's text. */
export type NumberTextTest = (bytes: Buffer, start: number, end: number) => boolean
