/**
 * Settings of tables that a server does not let us choose, as ClickHouse Cloud does with some: they
 * are left out, and told once. What a table then is like is the operator's choice.
 */
import { StoreError } from '../store-error.ts'

/** READONLY, UNKNOWN_SETTING, SETTING_CONSTRAINT_VIOLATION. */
const REFUSED: ReadonlySet<number | undefined> = new Set([164, 115, 452])
/** `name = value` of SETTINGS or MODIFY SETTING; values are numbers, words or quoted texts. */
const SETTING = /\b([a-z_]+) = (?:'[^']*'|[\w.]+)/g

export class RefusedSettings {
  readonly #names = new Set<string>()
  readonly #onRefused: (name: string) => void
  readonly #isCloud: () => Promise<boolean>

  /** `isCloud`: the server keeps what is inserted without being told. */
  constructor(
    onRefused: (name: string) => void = () => undefined,
    isCloud: () => Promise<boolean> = async () => false,
  ) {
    this.#onRefused = onRefused
    this.#isCloud = isCloud
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /**
   * Runs a statement that ends with settings, without those that are refused; one that would only
   * set such ones is not run. Rethrows what is not about one of its settings.
   */
  async run(sql: string, command: (sql: string) => Promise<void>): Promise<void> {
    for (;;) {
      const left = this.#strip(sql)
      if (/MODIFY SETTING $/.test(left)) return
      try {
        await command(left)
        return
      } catch (cause) {
        const name = refusedIn(left, cause)
        if (name === undefined || this.#names.has(name)) throw cause
        // The checkpoint relies on rows that are on disk.
        if (name.startsWith('fsync_') && !(await this.#isCloud())) throw cause
        this.#names.add(name)
        this.#onRefused(name)
      }
    }
  }

  #strip(sql: string): string {
    if (this.#names.size === 0) return sql
    const at = /(?:\n\s*SETTINGS|MODIFY SETTING) /.exec(sql)
    if (at === null) return sql
    const begin = at.index + at[0].length
    const settings = [...sql.slice(begin).matchAll(SETTING)]
    const kept = settings.filter(([, name = '']) => !this.#names.has(name)).map(([text]) => text)
    return sql.slice(0, begin) + kept.join(', ')
  }
}

function refusedIn(sql: string, cause: unknown): string | undefined {
  if (!(cause instanceof StoreError) || !REFUSED.has(cause.clickHouseCode)) return undefined
  const names = [...sql.matchAll(SETTING)].map(([, name = '']) => name)
  return names.find((name) => new RegExp(`\\b${name}\\b`).test(cause.message))
}
