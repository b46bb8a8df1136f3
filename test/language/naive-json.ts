/** Valid JSON as a tree that keeps what was written: each value's text, and every member. */

export type Json = JsonObject | JsonArray | JsonString | JsonScalar

interface Written {
  /** Verbatim, including white space within it. */
  readonly source: string
}

export interface JsonObject extends Written {
  readonly kind: 'object'
  /** In order, with duplicates. */
  readonly members: readonly (readonly [key: string, value: Json])[]
}

export interface JsonArray extends Written {
  readonly kind: 'array'
  readonly items: readonly Json[]
}

export interface JsonString extends Written {
  readonly kind: 'string'
  /** Escapes undone; a lone surrogate is U+FFFD. */
  readonly text: string
}

export interface JsonScalar extends Written {
  readonly kind: 'number' | 'boolean' | 'null'
}

/** Precondition: the text is valid for `JSON.parse`. */
export function parseJson(text: string): Json {
  const reader = new JsonReader(text)
  reader.space()
  return reader.value()
}

class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  value(): Json {
    const start = this.#at
    const char = this.#text[start]!
    if (char === '{') return this.#object()
    if (char === '[') return this.#array()
    if (char === '"') {
      const source = this.#take(/"(?:[^"\\]|\\.)*"/y)
      const text = Buffer.from(JSON.parse(source) as string).toString()
      return { kind: 'string', source, text }
    }
    const source = this.#take(/[^\s,\]}]+/y)
    const kind = source === 'null' ? 'null' : /^[tf]/.test(source) ? 'boolean' : 'number'
    return { kind, source }
  }

  #object(): JsonObject {
    const start = this.#at
    const members: [string, Json][] = []
    this.#items('}', () => {
      const key = this.value()
      if (key.kind !== 'string') throw new Error('a key is a string')
      this.space()
      this.#at++
      this.space()
      members.push([key.text, this.value()])
    })
    return { kind: 'object', source: this.#text.slice(start, this.#at), members }
  }

  #array(): JsonArray {
    const start = this.#at
    const items: Json[] = []
    this.#items(']', () => items.push(this.value()))
    return { kind: 'array', source: this.#text.slice(start, this.#at), items }
  }

  /** The items between this bracket and `close`, separated by commas. */
  #items(close: string, readItem: () => void): void {
    this.#at++
    this.space()
    while (this.#text[this.#at] !== close) {
      readItem()
      this.space()
      if (this.#text[this.#at] === ',') this.#at++
      this.space()
    }
    this.#at++
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text)!
    this.#at += found.length
    return found
  }
}
