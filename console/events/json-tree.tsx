/**
 * A payload as a tree; children are read when their parent is opened, 200 at a time. One stop for
 * Tab; the arrows go from value to value, and f, x, a, g, c and y act on the focused value. Text of
 * several lines keeps them, in fixed width; JSON in a string is a tree of its own below it.
 */
import { useSignal } from '@preact/signals'
import { useContext, useMemo } from 'preact/hooks'
import { isMisleading, visibleLine } from '../../src/language/visible-text.ts'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from '../base/exact-json.ts'
import { shownSpan } from '../base/shown-value.ts'
import { ShownText } from '../text/shown-text.tsx'
import { OpenedContext } from './opened-event.ts'
import { elementPlaces, fieldAt, memberPlace, type Place } from './place.ts'
import { actionsOf, ValueMenu } from './value-menu.tsx'

const CHILDREN_AT_A_TIME = 200
const STRING_CHARS_SHOWN = 2_000
/** Of a stack trace and its like: it is read as a whole. */
const LINES_CHARS_SHOWN = 50_000
/** JSON in longer strings stays text. */
const INSIDE_CHARS_MAX = 200_000
const SMALL_CHARS = 400
const STOPS = '.leaf, .twist, .more'

interface TreeProps {
  readonly value: JsonSpan
  readonly place: Place | undefined
}

interface Child {
  readonly label: string
  /** Undefined: no query finds it. */
  readonly place: Place | undefined
  readonly value: JsonSpan
}

export function JsonTree({ value, place }: TreeProps) {
  return (
    <div class="tree-place" role="group" aria-label="Fields" onKeyDown={moveInTree}>
      <Children value={value} place={place} isTop />
    </div>
  )
}

function moveInTree(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  const tree = event.currentTarget as HTMLElement
  const stops = [...tree.querySelectorAll<HTMLElement>(STOPS)]
  const from = (event.target as HTMLElement).closest('li')?.querySelector<HTMLElement>(STOPS)
  const next = stops[stops.indexOf(from!) + step]
  if (next === undefined) return
  event.preventDefault()
  event.stopPropagation()
  next.focus()
}

function Children({ value, place, isTop = false }: TreeProps & { isTop?: boolean }) {
  const shown = useSignal(CHILDREN_AT_A_TIME)
  const { children, hasMore } = readChildren(value, place, shown.value)
  return (
    <ul class="tree">
      {children.map((child, index) => (
        <Node key={index} child={child} isFirst={isTop && index === 0} />
      ))}
      {children.length === 0 && <li class="quiet">nothing in it</li>}
      {hasMore && (
        <li>
          <button
            type="button"
            class="small more"
            onClick={() => {
              shown.value += CHILDREN_AT_A_TIME
            }}
          >
            {CHILDREN_AT_A_TIME} more
          </button>
        </li>
      )}
    </ul>
  )
}

function Node({ child, isFirst }: { child: Child; isFirst: boolean }) {
  const { label, place, value } = child
  const kind = jsonKind(value)
  const isNested = kind === 'object' || kind === 'array'
  const isOpen = useSignal(isNested && value.end - value.start < SMALL_CHARS)
  if (!isNested) return <Leaf child={child} isFirst={isFirst} />
  return (
    <li>
      <button
        type="button"
        class="plain twist"
        tabIndex={isFirst ? 0 : -1}
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <span aria-hidden="true">{isOpen.value ? '▾' : '▸'}</span>{' '}
        <bdi class="key">{visibleLine(label) || '(empty)'}</bdi>
        <span class="quiet"> {kind === 'object' ? '{…}' : '[…]'}</span>
      </button>
      {isOpen.value && <Children value={value} place={place} />}
    </li>
  )
}

function Leaf({ child: { label, place, value }, isFirst }: { child: Child; isFirst: boolean }) {
  const isWhole = useSignal(false)
  const isUnfolded = useSignal(true)
  const opened = useContext(OpenedContext)
  const kind = jsonKind(value)
  const text = kind === 'string' ? jsonString(value) : jsonText(value)
  const inside = useMemo(() => (kind === 'string' ? jsonInside(text) : undefined), [value])
  const hasLines = kind === 'string' && text.includes('\n')
  const most = hasLines ? LINES_CHARS_SHOWN : STRING_CHARS_SHOWN
  const isCut = text.length > most && !isWhole.value
  const isPlain = kind === 'string' && (isCut || inside !== undefined || !isMisleading(text))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = actionsOf(place, value, opened?.event).find(({ key }) => key === event.key)
    if (action === undefined) return
    event.preventDefault()
    event.stopPropagation()
    action.run()
  }
  return (
    <li>
      <bdi class="key">{visibleLine(label) || '(empty)'}</bdi>:{' '}
      {/* No button element: its text could not be selected. */}
      <span
        class={`leaf json is-${kind}${hasLines ? ' mono has-lines' : ''}`}
        role="button"
        tabIndex={isFirst ? 0 : -1}
        aria-keyshortcuts="f x a g c y"
        onKeyDown={onKeyDown}
      >
        <LeafText {...{ place, value, isPlain }} text={isCut ? text.slice(0, most) : text} />
      </span>
      {isCut && (
        <button
          type="button"
          class="small"
          onClick={() => {
            isWhole.value = true
          }}
        >
          … {(text.length - most).toLocaleString('en-US')} more characters
        </button>
      )}
      <ValueMenu place={place} value={value} />
      {inside !== undefined && (
        <>
          <button
            type="button"
            class="small more"
            tabIndex={-1}
            aria-expanded={isUnfolded.value}
            onClick={() => {
              isUnfolded.value = !isUnfolded.value
            }}
          >
            <span aria-hidden="true">{isUnfolded.value ? '▾' : '▸'}</span> JSON in it
          </button>
          {isUnfolded.value && <Children value={inside} place={undefined} />}
        </>
      )}
    </li>
  )
}

interface LeafTextProps {
  readonly place: Place | undefined
  readonly value: JsonSpan
  /** Of it, what is shown. */
  readonly text: string
  /** A string that looks like nothing else. */
  readonly isPlain: boolean
}

/** With what the query found in it; a string that looks like something else stands in quotes. */
function LeafText({ place, value, text, isPlain }: LeafTextProps) {
  const { cells, event } = useContext(OpenedContext) ?? {}
  const field = useMemo(() => fieldAt(place), [place])
  const pieces = useMemo(() => {
    if (cells === undefined || event === undefined) return undefined
    const marked = { text, field, isFree: cells.isFree(event, field?.parts) }
    if (isPlain) return cells.piecesOf(marked)
    return [{ text: shownSpan(value), style: '', isMatch: cells.isFound(marked) }]
  }, [cells, event, value, text, isPlain])
  return pieces === undefined ? <bdi>{shownSpan(value)}</bdi> : <ShownText pieces={pieces} />
}

/** The object or array that a string is the JSON of. */
function jsonInside(text: string): JsonSpan | undefined {
  if (text.length > INSIDE_CHARS_MAX || !/^\s*[{[]/.test(text)) return undefined
  try {
    JSON.parse(text)
    return wholeJson(text)
  } catch {
    return undefined
  }
}

function readChildren(
  value: JsonSpan,
  place: Place | undefined,
  count: number,
): { readonly children: readonly Child[]; readonly hasMore: boolean } {
  const children: Child[] = []
  const isObject = jsonKind(value) === 'object'
  const last = isObject ? jsonObject(value) : undefined
  const elementPlace = isObject ? undefined : elementPlaces(place, value)
  for (const item of isObject ? jsonMembers(value) : jsonElements(value)) {
    if (children.length === count) return { children, hasMore: true }
    if ('key' in item) {
      // Of duplicate keys queries see the last.
      const isSeen = last?.get(item.key)?.start === item.value.start
      const at = isSeen ? memberPlace(place, item.key) : undefined
      children.push({ label: item.key, place: at, value: item.value })
    } else {
      children.push({ label: String(children.length), place: elementPlace?.(item), value: item })
    }
  }
  return { children, hasMore: false }
}
