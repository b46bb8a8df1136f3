/** Answers as JSON text: what is JSON already is passed on as it is, with all its digits. */

/** A value that is written. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value that is written when its turn has come. */
export class LazyJson {
  readonly write: () => string

  constructor(write: () => string) {
    this.write = write
  }
}

export type Json =
  | RawJson
  | LazyJson
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [name: string]: Json }

/** In pieces. A number that JSON has no text for is null; members that are undefined are absent. */
export function* jsonTexts(value: Json): Generator<string> {
  if (value instanceof RawJson) return yield value.text
  if (value instanceof LazyJson) return yield value.write()
  if (typeof value === 'number') return yield Number.isFinite(value) ? String(value) : 'null'
  if (typeof value !== 'object' || value === null) return yield JSON.stringify(value ?? null)
  let comma = ''
  if (Array.isArray(value)) {
    yield '['
    for (const one of value as readonly Json[]) {
      if (comma !== '') yield comma
      yield* jsonTexts(one)
      comma = ','
    }
    return yield ']'
  }
  yield '{'
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined) continue
    yield `${comma}${JSON.stringify(name)}:`
    yield* jsonTexts(one)
    comma = ','
  }
  yield '}'
}

/** The number that a value of an answer is; NaN where it is none. */
export function numberOf(value: Json): number {
  if (value instanceof RawJson) return value.text === 'null' ? Number.NaN : Number(value.text)
  return typeof value === 'number' ? value : Number.NaN
}
