/** A payload as a tree; children are read when their parent is opened, 200 at a time. */
import { useSignal } from '@preact/signals'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonString,
  jsonText,
} from '../base/exact-json.ts'
import { ValueMenu } from './value-menu.tsx'

const CHILDREN_AT_A_TIME = 200
const STRING_CHARS_SHOWN = 2_000

interface TreeProps {
  readonly value: JsonSpan
  /** As the query language has it; '' of the payload itself. */
  readonly path: string
}

interface Child {
  readonly label: string
  readonly path: string
  readonly value: JsonSpan
}

export function JsonTree({ value, path }: TreeProps) {
  const shown = useSignal(CHILDREN_AT_A_TIME)
  const { children, hasMore } = readChildren(value, path, shown.value)
  return (
    <ul class="tree">
      {children.map((child, index) => (
        <Node key={index} child={child} />
      ))}
      {hasMore && (
        <li>
          <button
            type="button"
            class="small"
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

function Node({ child: { label, path, value } }: { child: Child }) {
  const kind = jsonKind(value)
  const isNested = kind === 'object' || kind === 'array'
  const isSmall = value.end - value.start < 400
  const isOpen = useSignal(isNested && isSmall)
  if (!isNested) {
    return (
      <li>
        <span class="key">{label}</span>: <Leaf value={value} />
        <ValueMenu path={path} value={value} />
      </li>
    )
  }
  return (
    <li>
      <button
        type="button"
        class="plain twist"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <span aria-hidden="true">{isOpen.value ? '▾' : '▸'}</span> <span class="key">{label}</span>
        <span class="quiet"> {kind === 'object' ? '{…}' : '[…]'}</span>
      </button>
      {isOpen.value && <JsonTree value={value} path={path} />}
    </li>
  )
}

function Leaf({ value }: { value: JsonSpan }) {
  const isWhole = useSignal(false)
  const kind = jsonKind(value)
  if (kind !== 'string') return <span class={`json is-${kind}`}>{jsonText(value)}</span>
  const text = jsonString(value)
  const isCut = text.length > STRING_CHARS_SHOWN && !isWhole.value
  return (
    <span class="json is-string">
      {isCut ? text.slice(0, STRING_CHARS_SHOWN) : text}
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
    </span>
  )
}

function readChildren(
  value: JsonSpan,
  path: string,
  count: number,
): { readonly children: readonly Child[]; readonly hasMore: boolean } {
  const children: Child[] = []
  const isObject = jsonKind(value) === 'object'
  const prefix = path === '' || path.endsWith('[]') ? path : `${path}.`
  const source = isObject ? jsonMembers(value) : jsonElements(value)
  for (const item of source) {
    if (children.length === count) return { children, hasMore: true }
    if ('key' in item) {
      const place = path.endsWith('[]') ? `${path}.${item.key}` : `${prefix}${item.key}`
      children.push({ label: item.key, path: place, value: item.value })
    } else children.push({ label: String(children.length), path: `${path}[]`, value: item })
  }
  return { children, hasMore: false }
}
