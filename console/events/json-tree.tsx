/**
 * A payload as a tree; children are read when their parent is opened, 200 at a time. One stop for
 * Tab; the arrows go from value to value, and f, x, g, c and y act on the focused value.
 */
import { useSignal } from '@preact/signals'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonObject,
  jsonString,
  jsonText,
} from '../base/exact-json.ts'
import { shownSpan } from '../base/shown-value.ts'
import { elementPlaces, memberPlace, type Place } from './place.ts'
import { actionsOf, ValueMenu } from './value-menu.tsx'

const CHILDREN_AT_A_TIME = 200
const STRING_CHARS_SHOWN = 2_000
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
  const kind = jsonKind(value)
  const text = kind === 'string' ? jsonString(value) : jsonText(value)
  const isCut = text.length > STRING_CHARS_SHOWN && !isWhole.value
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = actionsOf(place, value).find(({ key }) => key === event.key)
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
        class={`leaf json is-${kind}`}
        role="button"
        tabIndex={isFirst ? 0 : -1}
        aria-keyshortcuts="f x g c y"
        onKeyDown={onKeyDown}
      >
        <bdi>{isCut ? visibleText(text.slice(0, STRING_CHARS_SHOWN)) : shownSpan(value)}</bdi>
      </span>
      {isCut && (
        <button
          type="button"
          class="small"
          onClick={() => {
            isWhole.value = true
          }}
        >
          … {(text.length - STRING_CHARS_SHOWN).toLocaleString('en-US')} more characters
        </button>
      )}
      <ValueMenu place={place} value={value} />
    </li>
  )
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
