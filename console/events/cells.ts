/** What a list and an open event draw of texts: in pieces, with what the query found in them. */
import { isMisleading, visibleText } from '../../src/language/visible-text.ts'
import type { TextPlace } from '../../src/language/words.ts'
import { TEXT_FIELDS_DEFAULT, TextNames } from '../../src/model/text-fields.ts'
import { jsonAt } from '../base/exact-json.ts'
import { type EventField, pathField } from '../base/field.ts'
import { type Marked, Matches } from '../text/matches.ts'
import { type Piece, type PieceOptions, piecesOf } from '../text/pieces.ts'
import { type Beginning, beginningAt, beginningOf, type EventRecord, textPathsOf } from './event.ts'

export class Cells {
  readonly #names: TextNames
  readonly #matches: Matches
  readonly #hasColors: boolean
  /** Whether an event has a text field: it is asked for each of its values. */
  readonly #withText = new WeakMap<EventRecord, boolean>()

  constructor(query: string, textFields: readonly string[], hasColors: boolean) {
    this.#names = new TextNames(textFields)
    this.#matches = new Matches(query, this.#names)
    this.#hasColors = hasColors
  }

  /** The line of an event: its most important text field, else its payload as it is. */
  lineOf(event: EventRecord): readonly Piece[] {
    const [path] = textPathsOf(event, this.#names)
    const value = path === undefined ? undefined : jsonAt(event.payload, path)
    if (path !== undefined && value !== undefined) {
      const asked = { field: pathField([path]), isFree: true }
      return this.#drawn(beginningOf(value), asked, false)
    }
    const { text, isCut } = beginningOf(event.payload)
    return ended(this.#pieces(text, this.#placesInJson(text), false), isCut)
  }

  /** Of a field. A string looks unlike other kinds of JSON. */
  cellOf(event: EventRecord, field: EventField): readonly Piece[] {
    const beginning = beginningAt(event, field)
    if (beginning === undefined) return []
    const isFree = field.kind === 'path' && this.isFree(event, field.parts)
    return this.#drawn(beginning, { field, isFree }, true)
  }

  /** Whether words of the query look at this path of the event: in all, where it has no text. */
  isFree(event: EventRecord, parts: readonly string[] | undefined): boolean {
    const isText = parts !== undefined && this.#names.hasParts(parts)
    return isText || !this.#hasText(event)
  }

  #hasText(event: EventRecord): boolean {
    const known = this.#withText.get(event) ?? textPathsOf(event, this.#names).length > 0
    this.#withText.set(event, known)
    return known
  }

  /** Of a string as it stands in an open event, its lines kept. */
  piecesOf(marked: Marked): readonly Piece[] {
    return this.#pieces(marked.text, this.#matches.placesIn(marked), false)
  }

  isFound(marked: Marked): boolean {
    return this.#matches.placesIn(marked).length > 0
  }

  #drawn(
    { text, isString, isCut }: Beginning,
    asked: Omit<Marked, 'text'>,
    isAlone: boolean,
  ): readonly Piece[] {
    const places = this.#matches.placesIn({ ...asked, text })
    if (isAlone && isString && !isCut && isMisleading(text)) {
      const shown = visibleText(JSON.stringify(text))
      return [{ text: shown, style: '', isMatch: places.length > 0 }]
    }
    return ended(this.#pieces(text, places, isAlone), isCut)
  }

  #pieces(text: string, places: readonly TextPlace[], isLine: boolean): readonly Piece[] {
    const options: PieceOptions = { isLine, hasColors: this.#hasColors }
    return piecesOf(text, places, options)
  }

  /** Of the strings in JSON's text, not of its names. */
  #placesInJson(json: string): readonly TextPlace[] {
    const places: TextPlace[] = []
    for (const { 1: text, 2: colon, index } of json.matchAll(STRING_OR_NAME)) {
      if (colon !== undefined) continue
      const inside = { text: text!, field: undefined, isFree: true }
      for (const [start, end] of this.#matches.placesIn(inside)) {
        places.push([index + 1 + start, index + 1 + end])
      }
    }
    return places
  }
}

/** In JSON that may be cut: a string, and the colon behind it if it is a name. */
const STRING_OR_NAME = /"((?:[^"\\]|\\.)*)"?(\s*:)?/g

function ended(pieces: readonly Piece[], isCut: boolean): readonly Piece[] {
  return isCut ? [...pieces, { text: '…', style: '', isMatch: false }] : pieces
}

let last: { readonly of: string; readonly byNames: Map<readonly string[], Cells> } | undefined

/** The same ones for the same question: what was drawn with them is not drawn anew. */
export function cellsFor(
  query: string,
  textFields: readonly string[] = TEXT_FIELDS_DEFAULT,
  hasColors = true,
): Cells {
  const of = `${hasColors} ${query}`
  if (last?.of !== of) last = { of, byNames: new Map() }
  const known = last.byNames.get(textFields) ?? new Cells(query, textFields, hasColors)
  last.byNames.set(textFields, known)
  return known
}
