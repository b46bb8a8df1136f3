/** The types of tape entries; see `json-tape.ts`. */
export const NULL = 0
export const FALSE = 1
export const TRUE = 2
/** An integer that fits 64 bits signed. */
export const INT = 3
/** A positive integer that fits 64 bits unsigned only. */
export const UINT = 4
/** Any other number, integers beyond 64 bits included. */
export const FLOAT = 5
/** A string without escapes: its bytes are its value. */
export const STRING = 6
/** A string with escapes. */
export const ESCAPED = 7
export const ARRAY = 8
/** An empty object outside arrays. */
export const OBJECT = 9
export const EXTENSION = 10
/** An entry overruled by a later duplicate key. */
export const DEAD = 11
/** An object that is an array's element, empty or not. */
export const ELEMENT = 12

/** Integers an entry takes. */
export const ENTRY = 4

/** The entry after the one at `at` and, of an array or an object in one, after what is in it. */
export function nextEntry(entries: Int32Array, at: number): number {
  const type = entries[at + 1]!
  return type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
}
