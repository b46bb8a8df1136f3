/** What ClickHouse would read for a query, and how much each index leaves out. Reads no rows. */
import type { ClickHouse } from '../../clickhouse.ts'
import type { ProjectionTables } from '../compile/projection-tables.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { querySettings, toQueryError } from '../query-bounds.ts'
import { type IdQuestion, idSql } from './id-store.ts'

export interface Share {
  readonly selected: number
  readonly total: number
}

export interface ExplainedIndex {
  /** ClickHouse's words: `MinMax`, `Partition`, `PrimaryKey`, `Skip`. */
  readonly type: string
  /** Of a skip index. */
  readonly name: string | null
  /** Of the granules (blocks of GRANULE_ROWS rows) that the indexes before it left. */
  readonly granules: Share
}

export interface Explained {
  /** In the order of their use, summed over all tables. */
  readonly indexes: readonly ExplainedIndex[]
  /** Granules that would be looked at, of those that the tables have. */
  readonly granules: Share
}

interface PlanNode {
  readonly 'Node Type'?: string
  readonly Plans?: readonly PlanNode[]
  readonly Indexes?: readonly PlanIndex[]
}

interface PlanIndex {
  readonly Type: string
  readonly Name?: string
  readonly 'Initial Granules': number
  readonly 'Selected Granules': number
}

export class ExplainStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /**
   * Throws `malformed` for a query that asks for too much, `unavailable` when there is no answer in
   * time.
   */
  async explain(question: IdQuestion, signal: AbortSignal): Promise<Explained> {
    try {
      return await this.#explain(question, signal)
    } catch (cause) {
      throw toQueryError(cause, { timeoutMs: question.msMax })
    }
  }

  async #explain(question: IdQuestion, signal: AbortSignal): Promise<Explained> {
    const rows = await this.#tables.read(question.streams, async (tables) => {
      const params = new SqlParams()
      const sql = idSql(question, this.#tables.place, tables, params)
      if (sql === undefined) return []
      const settings = querySettings(Math.max(1, Math.ceil(question.msMax)))
      return this.#clickhouse.query<{ explain: string }>(
        `EXPLAIN indexes = 1, json = 1 ${sql}`,
        params.values,
        settings,
        { signal },
      )
    })
    if (rows.length === 0) return { indexes: [], granules: { selected: 0, total: 0 } }
    const plans = JSON.parse(rows.map(({ explain }) => explain).join('\n')) as { Plan: PlanNode }[]
    return sumUp(plans.flatMap(({ Plan }) => readsOf(Plan)))
  }
}

function readsOf(node: PlanNode): readonly (readonly PlanIndex[])[] {
  const below = (node.Plans ?? []).flatMap(readsOf)
  return node.Indexes === undefined ? below : [node.Indexes, ...below]
}

function sumUp(reads: readonly (readonly PlanIndex[])[]): Explained {
  const byName = new Map<string, { type: string; name: string | null; granules: Share }>()
  let [selected, total] = [0, 0]
  for (const indexes of reads) {
    total += indexes[0]?.['Initial Granules'] ?? 0
    selected += indexes.at(-1)?.['Selected Granules'] ?? 0
    for (const index of indexes) {
      const key = `${index.Type} ${index.Name ?? ''}`
      const known = byName.get(key)?.granules ?? { selected: 0, total: 0 }
      const granules = {
        selected: known.selected + index['Selected Granules'],
        total: known.total + index['Initial Granules'],
      }
      byName.set(key, { type: index.Type, name: index.Name ?? null, granules })
    }
  }
  return { indexes: [...byName.values()], granules: { selected, total } }
}
