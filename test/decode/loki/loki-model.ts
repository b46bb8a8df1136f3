/**
 * What a push request means, naively: values by `JSON.parse`, events as lists of members. Written
 * from docs/collectors/loki.md, with none of the code under test.
 */
export type Member = readonly [name: string, value: string]

export interface ModelEntry {
  /** Nanoseconds since 1970; 0n when it says none. */
  readonly nanos: bigint
  readonly line: string
  readonly metadata: readonly Member[]
}

export interface ModelStream {
  readonly labels: readonly Member[]
  readonly entries: readonly ModelEntry[]
}

const OWN = ['message', 'log']
const TIME_MAX = 9_223_372_036_854_775_807n

function freeName(name: string, taken: readonly string[]): string {
  let free = `${name}_extracted`
  while (taken.includes(free)) free += '_extracted'
  return free
}

/** The event's members, in order. */
export function membersOf(labels: readonly Member[], { line, metadata }: ModelEntry): Member[] {
  const names = labels.map(([name]) => name)
  for (const [i, name] of names.entries()) {
    if (OWN.includes(name)) names[i] = freeName(name, names)
  }
  const isObject = line.length > 1 && line.startsWith('{') && line.endsWith('}')
  return [
    ...labels.map(([, value], i): Member => [names[i]!, value]),
    [isObject ? 'log' : 'message', line],
    ...metadata.map(([name, value]): Member => {
      const isTaken = OWN.includes(name) || names.includes(name)
      return [isTaken ? freeName(name, names) : name, value]
    }),
  ]
}

export function textOf(members: readonly Member[]): string {
  const pairs = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return `{${pairs.join(',')}}`
}

/** By entry: its members, its time, or undefined when it is rejected. */
export type Judged = { readonly members: Member[]; readonly nanos: bigint } | undefined

/** Undefined when the document fails as a whole. Of what `JSON.parse` returned. */
export function judgeDocument(document: unknown): Judged[] | undefined {
  if (!isObject(document) || !Object.hasOwn(document, 'streams')) return undefined
  const { streams } = document
  if (streams === null) return []
  if (!Array.isArray(streams)) return undefined
  const judged: Judged[] = []
  for (const each of streams) {
    if (!isObject(each)) return undefined
    const labels = pairsOf(each.stream)
    const { values } = each
    if (values === null || values === undefined) continue
    if (!Array.isArray(values)) return undefined
    for (const value of values) judged.push(labels && judgeEntry(labels, value))
  }
  return judged
}

function judgeEntry(labels: readonly Member[], value: unknown): Judged {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) return undefined
  const [time, line, more] = value as unknown[]
  const metadata = pairsOf(more)
  if (typeof time !== 'string' || !/^[0-9]+$/.test(time)) return undefined
  if (typeof line !== 'string' || metadata === undefined) return undefined
  const nanos = BigInt(time)
  if (nanos > TIME_MAX) return undefined
  return { members: membersOf(labels, { nanos, line, metadata }), nanos }
}

function pairsOf(value: unknown): Member[] | undefined {
  if (value === null || value === undefined) return []
  if (!isObject(value)) return undefined
  const pairs = Object.entries(value)
  if (pairs.some(([, each]) => typeof each !== 'string')) return undefined
  return pairs.map(([name, each]) => [wellFormed(name), wellFormed(each as string)])
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A lone surrogate cannot be written as UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}
