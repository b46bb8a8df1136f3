/**
 * The parameters of a statement: every value from a request is passed as one of them. Also counts
 * the statement's conditions on columns: they are its cost before the engine reads anything.
 */

export class SqlParams {
  readonly #names = new Map<string, string>()
  readonly #values: Record<string, unknown> = {}
  /** All branches and all queries of the statement together: at most `QUERY_CONDITIONS_MAX`. */
  conditions = 0

  /** In the form that `ClickHouse.query` takes. */
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
