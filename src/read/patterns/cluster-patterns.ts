/**
 * Patterns that differ in words that vary, such as names of users and hosts, are told as one:
 * masks cannot know these. As Drain does it, over templates: patterns of as many words, of which
 * the first is the same, join the cluster with which they have most words in common, if these are
 * SIMILARITY_MIN of all. A word of which there are only two in a cluster does not vary, it says
 * something (`opened`, `closed`): by such words a cluster is split again.
 *
 * A cluster has as many patterns as a query can name, so it still selects exactly its events.
 */
import type {
  PatternTemplate,
  SlotKind,
  TemplatePart,
} from '../../model/patterns/pattern-template.ts'

export const SIMILARITY_MIN = 0.6
/** Patterns of one cluster. */
export const CLUSTER_PATTERNS_MAX = 200
/** Clusters that a pattern is compared with. */
export const CLUSTERS_COMPARED_MAX = 64
/** Words of a template that are compared; a longer one is told by itself. */
const WORDS_MAX = 128
/** Values of a word from which on it is one that varies. */
const VARIES_MIN = 3
/** Of what stands in a slot. */
const EXAMPLES_MAX = 3
/** Patterns after which whoever else needs the thread has its turn. */
const TURN_PATTERNS = 50

/** What stands between two blanks: text and slots. */
type Word = readonly TemplatePart[]

interface Pattern<P> {
  readonly pattern: P
  readonly words: readonly Word[]
  readonly keys: readonly string[]
}

interface Open<P> {
  readonly patterns: Pattern<P>[]
  /** By position: its word, or undefined where it varies. */
  readonly keys: (string | undefined)[]
}

export type ClusterPart =
  | { readonly text: string }
  | { readonly slot: SlotKind; readonly examples: readonly string[] }

export interface Cluster<P> {
  readonly patterns: readonly P[]
  readonly parts: readonly ClusterPart[]
}

/** `templateOf`: undefined where it is not known. `rest`: lets others use the thread. */
export async function clusterPatterns<P>(
  patterns: readonly P[],
  templateOf: (pattern: P) => PatternTemplate | undefined,
  rest: () => Promise<void>,
): Promise<Cluster<P>[]> {
  const buckets = new Map<string, Open<P>[]>()
  const clusters: Open<P>[] = []
  for (const [index, pattern] of patterns.entries()) {
    if (index % TURN_PATTERNS === 0) await rest()
    const words = wordsOf(templateOf(pattern)?.parts ?? [])
    const one = { pattern, words, keys: words.map(keyOf) }
    const bucket = bucketOf(buckets, one.keys)
    const like = bucket && mostLike(bucket, one.keys)
    if (like !== undefined) {
      join(like, one)
      continue
    }
    const open = { patterns: [one], keys: [...one.keys] }
    clusters.push(open)
    if (bucket !== undefined && bucket.length < CLUSTERS_COMPARED_MAX) bucket.push(open)
  }
  await rest()
  return clusters.flatMap(({ patterns: all }) => splitByWords(all)).map(toCluster)
}

function bucketOf<P>(
  buckets: Map<string, Open<P>[]>,
  keys: readonly string[],
): Open<P>[] | undefined {
  if (keys.length < 2 || keys.length > WORDS_MAX) return undefined
  const name = `${keys.length} ${keys[0]}`
  const known = buckets.get(name) ?? []
  buckets.set(name, known)
  return known
}

function mostLike<P>(bucket: readonly Open<P>[], keys: readonly string[]): Open<P> | undefined {
  let best: Open<P> | undefined
  let bestShare = SIMILARITY_MIN
  for (const open of bucket) {
    if (open.patterns.length === CLUSTER_PATTERNS_MAX) continue
    const same = keys.filter((key, at) => open.keys[at] === key).length
    if (same / keys.length < bestShare) continue
    if (best !== undefined && same / keys.length === bestShare) continue
    best = open
    bestShare = same / keys.length
  }
  return best
}

function join<P>(open: Open<P>, one: Pattern<P>): void {
  open.patterns.push(one)
  for (const [at, key] of one.keys.entries()) {
    if (open.keys[at] !== key) open.keys[at] = undefined
  }
}

/** Apart where a word has too few values to vary; the first such word first. */
function splitByWords<P>(patterns: readonly Pattern<P>[]): (readonly Pattern<P>[])[] {
  const [first] = patterns
  for (const at of first?.keys.keys() ?? []) {
    const values = new Map<string, Pattern<P>[]>()
    for (const one of patterns) {
      const key = one.keys[at]!
      const known = values.get(key)
      if (known === undefined) values.set(key, [one])
      else known.push(one)
    }
    if (values.size > 1 && values.size < VARIES_MIN) {
      return [...values.values()].flatMap((some) => splitByWords(some))
    }
  }
  return [patterns]
}

function toCluster<P>(all: readonly Pattern<P>[]): Cluster<P> {
  const [first] = all
  const parts: ClusterPart[] = []
  for (const [at, word] of (first?.words ?? []).entries()) {
    if (at > 0) parts.push({ text: ' ' })
    const key = first!.keys[at]
    const words = all.map(({ words: of }) => of[at]!)
    if (all.some(({ keys }) => keys[at] !== key)) {
      parts.push({ slot: 'value', examples: someOf(words.map(textOf)) })
      continue
    }
    for (const [index, part] of word.entries()) {
      if ('text' in part) parts.push(part)
      else
        parts.push({ slot: part.slot, examples: someOf(words.map((of) => textOf([of[index]!]))) })
    }
  }
  return { patterns: all.map(({ pattern }) => pattern), parts: joined(parts) }
}

/** The first different ones. */
function someOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].slice(0, EXAMPLES_MAX)
}

/** Neighbouring texts are one. */
function joined(parts: readonly ClusterPart[]): ClusterPart[] {
  const all: ClusterPart[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if ('text' in part && last !== undefined && 'text' in last) {
      all[all.length - 1] = { text: last.text + part.text }
    } else all.push(part)
  }
  return all
}

/** A template's words: a slot and what touches it are one. */
function wordsOf(parts: readonly TemplatePart[]): Word[] {
  const words: TemplatePart[][] = [[]]
  for (const part of parts) {
    if ('slot' in part) {
      words.at(-1)!.push(part)
      continue
    }
    for (const [index, text] of part.text.split(' ').entries()) {
      if (index > 0) words.push([])
      if (text !== '') words.at(-1)!.push({ text })
    }
  }
  return words.filter((word) => word.length > 0)
}

/** The same for words that are the same but for values of slots. */
function keyOf(word: Word): string {
  return word.map((part) => ('slot' in part ? '\0' : part.text)).join('')
}

function textOf(word: Word): string {
  return word.map((part) => ('slot' in part ? part.example : part.text)).join('')
}
