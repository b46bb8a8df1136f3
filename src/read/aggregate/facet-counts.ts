/**
 * Counts the values of several fields: exactly while they are few enough, or can be counted within
 * a second, one field after another. What is left is counted among the newest events, which then
 * stand for all: those counts are multiplied, and said to be estimates.
 */
import { IngestError } from '../../errors.ts'
import { conjoin } from '../../language/combine.ts'
import type { Query } from '../../language/query-tree.ts'
import {
  FACET_EVENTS_MAX,
  FACET_EXACT_EVENTS_MAX,
  FACET_EXACT_MS,
  FACET_VALUE_CHARS_MAX,
} from '../../limits.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import type {
  AggregateResult,
  AggregateTask,
} from '../../store/projection/reads/aggregate-store.ts'
import type { Facet, FacetsResult, FacetsTask } from '../../store/projection/reads/facets-store.ts'

export interface FacetStores {
  /** `AggregateStore`'s. */
  readonly countFacet: (task: AggregateTask, signal?: AbortSignal) => Promise<AggregateResult>
  /** `FacetsStore`'s. */
  readonly runFacets: (task: FacetsTask, signal?: AbortSignal) => Promise<FacetsResult>
}

export interface CountedFacet extends Facet {
  /** Of the newest events, multiplied. */
  readonly isEstimated: boolean
}

export interface FacetCounts {
  /** As `FacetsResult` has them. */
  readonly facets: readonly CountedFacet[]
  /** All events that match; those that were looked at, where there was no time to count them. */
  readonly events: number
  /** Of the newest events, when these stand for all: the oldest one's time. */
  readonly oldestNs: bigint | undefined
}

/** Throws what the stores throw. */
export async function countFacets(
  stores: FacetStores,
  task: FacetsTask,
  signal: AbortSignal,
): Promise<FacetCounts> {
  const exact = new ExactCounts(stores, task, signal)
  const total = await exact.total()
  const isFew = total !== undefined && total <= FACET_EVENTS_MAX
  const counted = new Map<FieldRef, CountedFacet>()
  for (const field of isFew ? [] : task.fields) {
    if (total === undefined || (total > FACET_EXACT_EVENTS_MAX && !isLabel(field))) continue
    const facet = await exact.facet(field)
    if (facet !== undefined) counted.set(field, facet)
  }
  const rest = task.fields.filter((field) => !counted.has(field))
  if (rest.length === 0) {
    return { facets: [...counted.values()], events: total ?? 0, oldestNs: undefined }
  }
  const sample = await stores.runFacets({ ...task, fields: rest }, signal)
  const isSampled = sample.oldestNs !== undefined
  const times = isSampled && total !== undefined ? total / sample.events : 1
  const facets = task.fields.map((field): CountedFacet => {
    const found = counted.get(field)
    return found ?? multiplied(sample.facets[rest.indexOf(field)]!, times, isSampled)
  })
  return { facets, events: total ?? sample.events, oldestNs: sample.oldestNs }
}

/** Those are counted without reading events where the query allows it. */
function isLabel(field: FieldRef): boolean {
  return field.kind === 'system' && field.label !== '_shape' && field.label !== '_pattern'
}

class ExactCounts {
  readonly #stores: FacetStores
  readonly #task: FacetsTask
  readonly #signal: AbortSignal
  readonly #endMs: number

  constructor(stores: FacetStores, task: FacetsTask, signal: AbortSignal) {
    this.#stores = stores
    this.#task = task
    this.#signal = signal
    // The rest of the time is for the sample.
    this.#endMs = performance.now() + Math.min(FACET_EXACT_MS, task.timeoutMs / 2)
  }

  async total(): Promise<number | undefined> {
    const result = await this.#run({ keys: [], limit: 1 })
    return result && Number(result.total)
  }

  async facet(field: FieldRef): Promise<CountedFacet | undefined> {
    const { limit, query } = this.#task
    const key = { ...field, name: 'value' }
    const result = await this.#run({ keys: [key], limit, query: withValue(query, field) })
    if (result === undefined) return undefined
    const values = result.rows.map(({ group, values: [count] }) => {
      return { value: group[0]!, count: Number(count) }
    })
    const { total, groups, isEstimated } = result
    return { values, present: Number(total), distinct: groups, isEstimated }
  }

  /** Undefined when there is not enough time or memory for it. */
  async #run(
    changes: Pick<AggregateTask, 'keys' | 'limit'> & Partial<AggregateTask>,
  ): Promise<AggregateResult | undefined> {
    const timeoutMs = Math.floor(this.#endMs - performance.now())
    if (timeoutMs < 1) return undefined
    const { fields: _, ...task } = this.#task
    const asked: AggregateTask = {
      ...task,
      aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
      order: { of: 'aggregate', index: 0, isDescending: true },
      hasOthers: false,
      textCharsMax: FACET_VALUE_CHARS_MAX,
      ...changes,
      timeoutMs,
    }
    try {
      return await this.#stores.countFacet(asked, this.#signal)
    } catch (cause) {
      const isTooMuch = cause instanceof IngestError && cause.members?.field === undefined
      if (this.#signal.aborted || !isTooMuch) throw cause
      return undefined
    }
  }
}

/** Only of events that have a value there. */
function withValue(query: Query, field: FieldRef): Query {
  const at = { start: 0, end: 0 }
  const test = { kind: 'exists', ...at } as const
  const hasValue = (of: Extract<Query, { kind: 'field' }>['field']): Query => {
    const exists: Query = { kind: 'field', field: of, test, ...at }
    return query.kind === 'all' ? exists : conjoin('and', [query, exists])
  }
  if (field.kind === 'path') return hasValue({ kind: 'path', parts: [field.path], ...at })
  const { label } = field
  if (label === '_stream' || label === '_shape') return query
  return hasValue({ kind: 'system', name: label, ...at })
}

function multiplied(facet: Facet, times: number, isEstimated: boolean): CountedFacet {
  const of = (count: number) => Math.round(count * times)
  const values = facet.values.map(({ value, count }) => ({ value, count: of(count) }))
  return { ...facet, values, present: of(facet.present), isEstimated }
}
