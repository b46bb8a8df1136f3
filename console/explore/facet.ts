/** The most frequent values of fields, as the service answers them. */
import {
  type JsonSpan,
  jsonElements,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from '../base/exact-json.ts'
import { type AnswerState, readState } from './answer-state.ts'

export interface FacetValue {
  /** As JSON, every digit kept. */
  readonly json: string
  /** As it is shown. */
  readonly text: string
  readonly count: number
}

export interface Facet {
  /** A path, `_level` or `_service`. */
  readonly field: string
  readonly label: string
  readonly values: readonly FacetValue[]
}

const LABELS: Readonly<Record<string, string>> = { _level: 'level', _service: 'service' }

export interface FacetsAnswer {
  readonly facets: readonly Facet[]
  readonly state: AnswerState
}

export function readFacets(text: string): FacetsAnswer {
  const answer = jsonObject(wholeJson(text))
  const facets = [...jsonElements(answer.get('facets')!)].map((facet) => {
    const members = jsonObject(facet)
    const field = jsonString(members.get('field')!)
    const values = [...jsonElements(members.get('values')!)].map(readValue)
    return { field, label: LABELS[field] ?? field, values }
  })
  const members = ['complete', 'reason', 'covered', 'lag_ms', 'sampled']
  const rest = members.map((name) => [name, JSON.parse(jsonText(answer.get(name)!))] as const)
  return { facets, state: readState(Object.fromEntries(rest)) }
}

function readValue(span: JsonSpan): FacetValue {
  const members = jsonObject(span)
  const json = jsonText(members.get('value')!)
  const value: unknown = JSON.parse(json)
  const text = value === null ? '' : typeof value === 'string' ? value : json
  return { json, text, count: Number(jsonText(members.get('count')!)) }
}
