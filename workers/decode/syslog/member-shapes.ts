/**
 * Which names messages had before: a sender's structured data, CEF or LEEF have the same ones again
 * and again. What is between their values is written once then, and copied.
 *
 * Only names that came a second time are kept, and only where each is there once, is valid UTF-8
 * and is spelled in JSON as it is; all others are written name by name.
 */

import type { EventPieces } from '../../build/event-pieces.ts'
import { arena } from '../../kernel/arena.ts'
import type { PathTrie } from '../../tape/path-trie.ts'
import { type FieldList, NAME_IN_TEXT, VALUE_IN_TEXT } from './field-list.ts'

const SHAPES_MAX = 256
/** Longer names, all together, are not kept. */
const NAMES_BYTES_MAX = 8_192
/** Shapes that came once lately, by a few bits of their hash. */
const MET = 1_024

interface Shape {
  /** The names, one after another, each with its group's before it where that begins. */
  readonly names: Uint8Array
  /** Where each ends there. */
  readonly ends: Int32Array
  readonly nodes: Int32Array
  /** What comes before each value and, at last, behind all of them: addresses, and their ends. */
  readonly text: Uint8Array
  readonly between: Int32Array
}

export class MemberShapes {
  readonly #trie: PathTrie
  readonly #shapes = new Map<number, Shape>()
  readonly #met = new Int32Array(MET)

  constructor(trie: PathTrie) {
    this.#trie = trie
  }

  /** Forgets all: their nodes are gone. */
  clear(): void {
    for (const { text } of this.#shapes.values()) arena.release(text)
    this.#shapes.clear()
  }

  /**
   * Adds the members as those of `name` at the root, whose node is `node`; false where they are to
   * be written one by one. `address`: of the bytes that their ranges are of.
   */
  tryAdd(
    list: FieldList,
    name: string,
    node: number,
    address: number,
    pieces: EventPieces,
  ): boolean {
    if (!list.isPlain || list.count === 0) return false
    const hash = (list.hash ^ Math.imul(node, 0x9e3779b1)) | 0
    const shape = this.#shapes.get(hash) ?? this.#learn(hash, list, name, node)
    if (shape === undefined || !isSame(shape, list)) return false
    const { nodes, between } = shape
    // V8 calls a function for that.
    const textAddress = list.hasEscapes ? list.text.bytes.byteOffset : 0
    for (let pair = 0; pair < list.count; pair++) {
      const base = (list.inText(pair) & VALUE_IN_TEXT) === 0 ? address : textAddress
      const start = base + list.valueStart(pair)
      const end = base + list.valueEnd(pair)
      pieces.addBetween(nodes[pair]!, between[pair]!, between[pair + 1]!, start, end)
    }
    pieces.addRaw(between[list.count]!, between[list.count + 1]!)
    return true
  }

  /** Keeps names that were met before. */
  #learn(hash: number, list: FieldList, name: string, node: number): Shape | undefined {
    const slot = hash & (MET - 1)
    const isMet = this.#met[slot] === hash
    this.#met[slot] = hash
    if (!isMet) return undefined
    if (this.#shapes.size >= SHAPES_MAX) this.clear()
    const shape = this.#shapeOf(list, name, node)
    if (shape !== undefined) this.#shapes.set(hash, shape)
    return shape
  }

  #shapeOf(list: FieldList, name: string, node: number): Shape | undefined {
    const { count, groups } = list
    const names: Uint8Array[] = []
    const ends = new Int32Array(count)
    const nodes = new Int32Array(count)
    const texts: string[] = []
    let opening = `,${JSON.stringify(name)}:{`
    let parent = node
    let group = -1
    let length = 0
    const add = (key: Uint8Array, of: number): number => {
      const text = Buffer.from(key).toString('utf8')
      opening += `"${text}":`
      names.push(key)
      length += key.length
      const isSpelled = JSON.stringify(text) === `"${text}"` && Buffer.from(text).equals(key)
      return isSpelled ? this.#trie.child(of, key, 0, key.length, false) : 0
    }
    for (let pair = 0; pair < count; pair++) {
      if (groups > 0 && list.group[pair] !== group) {
        group++
        if (list.group[pair] !== group) return undefined
        if (group > 0) opening = '},'
        parent = add(list.source.bytes.slice(list.groupStart(group), list.groupEnd(group)), node)
        opening += '{'
        if (parent === 0) return undefined
      }
      const from = (list.inText(pair) & NAME_IN_TEXT) === 0 ? list.source : list.text
      nodes[pair] = add(from.bytes.slice(list.nameStart(pair), list.nameEnd(pair)), parent)
      if (nodes[pair] === 0 || length > NAMES_BYTES_MAX) return undefined
      ends[pair] = length
      texts.push(`${opening}"`)
      opening = ','
    }
    if (groups > 0 && group !== groups - 1) return undefined
    texts.push(groups > 0 ? '}}' : '}')
    return { names: Buffer.concat(names), ends, nodes, ...placed(texts) }
  }
}

/** The texts in the arena, and where each begins and the last one ends. */
function placed(texts: readonly string[]): Pick<Shape, 'text' | 'between'> {
  const all = Buffer.from(texts.join(''))
  const text = arena.buffer(all.length)
  text.set(all)
  const between = new Int32Array(texts.length + 1)
  let at = text.byteOffset
  for (const [i, each] of texts.entries()) {
    between[i] = at
    at += Buffer.byteLength(each)
  }
  between[texts.length] = at
  return { text, between }
}

/** Whether the names are those of the shape: hashes may be alike. */
function isSame({ names, ends }: Shape, list: FieldList): boolean {
  if (list.count !== ends.length) return false
  let at = 0
  let group = -1
  for (let pair = 0; pair < list.count; pair++) {
    if (list.groups > 0 && list.group[pair] !== group) {
      if (list.group[pair] !== ++group) return false
      const { bytes } = list.source
      const end = list.groupEnd(group)
      for (let i = list.groupStart(group); i < end; i++) if (names[at++] !== bytes[i]) return false
    }
    const { bytes } = (list.inText(pair) & NAME_IN_TEXT) === 0 ? list.source : list.text
    const end = list.nameEnd(pair)
    for (let i = list.nameStart(pair); i < end; i++) if (names[at++] !== bytes[i]) return false
    if (at !== ends[pair]) return false
  }
  return list.groups === 0 || group === list.groups - 1
}
