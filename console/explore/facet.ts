/** The most frequent values of fields, as the service answers them. */
import type { Query } from '../../src/language/query-tree.ts'
import { visibleLine } from '../../src/language/visible-text.ts'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from '../base/exact-json.ts'
import { type EventField, fieldOfApi, fieldText } from '../base/field.ts'
import { shownValue } from '../base/shown-value.ts'
import { type AnswerState, readState } from './answer-state.ts'
import { clauseForBeginning, clauseForJson } from './filters.ts'

export interface FacetValue {
  /** As JSON, every digit kept. */
  readonly json: string
  /** As it is shown. */
  readonly text: string
  readonly count: number
}

export interface Facet {
  readonly field: EventField
  readonly label: string
  readonly values: readonly FacetValue[]
  /** The counts are of the newest events, multiplied. */
  readonly isEstimated: boolean
}

const LABELS: ReadonlyMap<string, string> = new Map([
  ['_level', 'level'],
  ['_service', 'service'],
])

export interface FacetsAnswer {
  readonly facets: readonly Facet[]
  /** All events that match, at the moment when the values were counted. */
  readonly total: number
  readonly state: AnswerState
}

export function readFacets(text: string): FacetsAnswer {
  const answer = jsonObject(wholeJson(text))
  const facets = [...jsonElements(answer.get('facets')!)].flatMap((facet) => {
    const members = jsonObject(facet)
    const field = fieldOfApi(jsonString(members.get('field')!))
    if (field === undefined) return []
    const values = [...jsonElements(members.get('values')!)].map(readValue)
    const text = fieldText(field)
    const isEstimated = jsonText(members.get('estimated')!) === 'true'
    return [{ field, label: LABELS.get(text) ?? visibleLine(text), values, isEstimated }]
  })
  const members = ['complete', 'reason', 'covered', 'lag_ms', 'sampled']
  const rest = members.map((name) => [name, JSON.parse(jsonText(answer.get(name)!))] as const)
  const total = Number(jsonText(answer.get('events')!))
  return { facets, total, state: readState(Object.fromEntries(rest)) }
}

function readValue(span: JsonSpan): FacetValue {
  const members = jsonObject(span)
  const json = jsonText(members.get('value')!)
  return { json, text: shownValue(json), count: Number(jsonText(members.get('count')!)) }
}

/** Characters after which the service cuts a value. */
const VALUE_CHARS_MAX = 256

/** What to look for to find the events that a value of an answer stands for; none for arrays. */
export function clauseOfValue({ field, values }: Facet, { json }: FacetValue): Query | undefined {
  if (jsonKind(wholeJson(json)) === 'string') {
    const text = jsonString(wholeJson(json))
    if ([...text].length >= VALUE_CHARS_MAX) return clauseForBeginning(field, text)
  }
  return clauseForJson(field, json, hasTwin(values, json))
}

/** Whether the same characters are there as a number and as a string. */
export function hasTwin(values: readonly { readonly json: string }[], json: string): boolean {
  return values.some((one) => one.json === JSON.stringify(json))
}
