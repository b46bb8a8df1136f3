/**
 * The parameters of a statement: every value that comes from a request goes by one of them. And how
 * many conditions on columns it has, which is what it costs the engine before it reads anything.
 */

export class SqlParams {
  readonly #names = new Map<string, string>()
  readonly #values: Record<string, unknown> = {}
  /** All legs and all queries of the statement together: at most `QUERY_CONDITIONS_MAX`. */
  conditions = 0

  /** What `ClickHouse.query` takes. */
  get values(): Readonly<Record<string, unknown>> {
    return this.#values
  }

  /** `{p0:String}`; the same for the same value, so that equal conditions are equal texts. */
  add(type: string, value: unknown): string {
    const key = `${type}:${Array.isArray(value) ? value.map(String).join('\0') : String(value)}`
    let name = this.#names.get(key)
    if (name === undefined) {
      name = `p${this.#names.size}`
      this.#names.set(key, name)
      this.#values[name] = value
    }
    return `{${name}:${type}}`
  }
}
