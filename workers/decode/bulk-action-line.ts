/**
 * One action's line, as far as its item of the reply needs it: the operation, `_index` and `_id`.
 * Everything else that clients send in it is judged as JSON and ignored.
 *
 * Most clients send the same line before every document, so the last one is kept and compared.
 */
import { BULK_CREATE, BULK_DELETE, BULK_INDEX } from '../../src/model/bulk-action.ts'
import { LOW_BYTES } from '../tape/json-scan.ts'
import { SYNTAX_TRAILING } from '../tape/json-syntax.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { NULL, STRING } from '../tape/tape-types.ts'
import type { BulkItemMeta } from './bulk-items.ts'
import { JsonMembers } from './json-members.ts'

const LINE_FEED = 0x0a
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const INDEX = Buffer.from('_index')
const ID = Buffer.from('_id')
const OP_TYPE = Buffer.from('op_type')
const CREATE = Buffer.from('create')

const INDEX_STRUCTURED = '_index of the action is an object or an array'
const ID_STRUCTURED = '_id of the action is an object or an array'

export class BulkAction implements BulkItemMeta {
  operation = 0
  indexStart = -1
  indexEnd = -1
  idStart = -1
  idEnd = -1
  /** Why the action is rejected; empty when it is good. */
  fault = ''
  /** Of the good line at `#lineStart` with its line feed; 0 when there is none to compare. */
  lineBytes = 0
  #lineStart = 0
  readonly #tape: JsonTape
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #outer: JsonMembers
  readonly #meta: JsonMembers

  constructor(tape: JsonTape, bytes: Uint8Array) {
    this.#tape = tape
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#outer = new JsonMembers(tape)
    this.#meta = new JsonMembers(tape)
  }

  /** Whether the line at `start` is that of the good action read last, no delete. Hot. */
  isAgainAt(start: number): boolean {
    let left = this.lineBytes
    if (left === 0) return false
    const view = this.#view
    // The line holds one line feed, its last byte: a comparison ends at the input's last at latest.
    let at = this.#lineStart
    let pos = start
    while (left >= 4) {
      if (view.getInt32(pos, true) !== view.getInt32(at, true)) return false
      pos += 4
      at += 4
      left -= 4
    }
    if (left === 0) return true
    return ((view.getInt32(pos, true) ^ view.getInt32(at, true)) & LOW_BYTES[left]!) === 0
  }

  /** Forgets the action before. */
  begin(operation: number): void {
    this.operation = operation
    this.indexStart = -1
    this.indexEnd = -1
    this.idStart = -1
    this.idEnd = -1
    this.fault = ''
    this.lineBytes = 0
  }

  /**
   * Reads the line at `start`, whose operation has its object at `valueStart`. False when it is not
   * valid JSON; the tape then says why.
   */
  parse(start: number, valueStart: number): boolean {
    const tape = this.#tape
    const outer = this.#outer
    outer.enter(this.#bytes, start)
    while (outer.next()) {
      const isOperation = outer.valueStart === valueStart
      const end = isOperation ? this.#parseMeta(valueStart) : outer.skip(outer.valueStart)
      if (outer.leave(end) < 0) break
    }
    const { end } = outer
    if (end < 0) return false
    const lineEnd = tape.space(end)
    if (this.#bytes[lineEnd] !== LINE_FEED) {
      tape.errorCode = SYNTAX_TRAILING
      tape.errorAt = lineEnd
      return false
    }
    if (this.fault === '' && this.operation !== BULK_DELETE) {
      this.#lineStart = start
      this.lineBytes = lineEnd + 1 - start
    }
    return true
  }

  #parseMeta(open: number): number {
    const meta = this.#meta
    meta.enter(this.#bytes, open)
    while (meta.next()) {
      const { valueStart } = meta
      if (meta.skip(valueStart) < 0) break
      if (meta.isKey(INDEX)) this.#setIndex(valueStart)
      else if (meta.isKey(ID)) this.#setId(valueStart)
      else if (meta.isKey(OP_TYPE)) this.#setOpType(valueStart)
    }
    return meta.end
  }

  #setIndex(valueStart: number): void {
    if (this.#isStructured(valueStart)) {
      this.fault = INDEX_STRUCTURED
      return
    }
    const isGiven = this.#meta.valueType !== NULL
    this.indexStart = isGiven ? this.#meta.scalarStart : -1
    this.indexEnd = isGiven ? this.#meta.scalarEnd : -1
  }

  #setId(valueStart: number): void {
    if (this.#isStructured(valueStart)) {
      this.fault = ID_STRUCTURED
      return
    }
    const isGiven = this.#meta.valueType !== NULL
    this.idStart = isGiven ? this.#meta.scalarStart : -1
    this.idEnd = isGiven ? this.#meta.scalarEnd : -1
  }

  /** `index` that may only create answers as `create`. */
  #setOpType(valueStart: number): void {
    if (this.operation !== BULK_INDEX || this.#isStructured(valueStart)) return
    const { valueType, scalarStart, scalarEnd } = this.#meta
    if (valueType !== STRING || scalarEnd - scalarStart !== CREATE.length) return
    for (let i = 0; i < CREATE.length; i++) {
      if (this.#bytes[scalarStart + i] !== CREATE[i]) return
    }
    this.operation = BULK_CREATE
  }

  #isStructured(valueStart: number): boolean {
    const byte = this.#bytes[valueStart]
    return byte === OPEN_OBJECT || byte === OPEN_ARRAY
  }
}
