/**
 * Where a field of events is named: proposes those that there are by any part of their names, with
 * their types and the share of events that have them, and says when there is none such.
 */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { foldName } from '../../src/model/match-names.ts'
import { type FieldKind, fieldNote, findFields, unknownText } from '../base/catalog.ts'
import { useCombobox } from './combobox.ts'
import { Field } from './form.tsx'
import { itemAt } from './item-at.ts'

interface FieldInputProps {
  readonly value: string
  readonly onInput: (text: string) => void
  /** One was chosen from the list; `text` is then the whole value. */
  readonly onTake?: (text: string) => void
  /** Undefined: of all streams. */
  readonly streamId: string | undefined
  readonly kind?: FieldKind
  /** Names beside the catalog's, such as `_level`. */
  readonly own?: readonly string[]
  /** Several, with commas between them. */
  readonly isList?: boolean
  /** Paths as they are, not as queries write them. */
  readonly takesPaths?: boolean
  readonly label?: string
  readonly id?: string
  readonly hintId?: string
  readonly placeholder?: string
  readonly required?: boolean
  readonly inputRef?: RefObject<HTMLInputElement | null>
}

interface Option {
  readonly text: string
  readonly note: string
}

export function FieldInput(props: FieldInputProps) {
  const { value, onInput, onTake, streamId, kind = {}, own = [], isList, takesPaths } = props
  const input = useRef<HTMLInputElement>(null)
  /** Why nothing but near names is proposed. */
  const told = useSignal('')
  const place = () => {
    const { value: text = '', selectionStart: at } = input.current ?? {}
    return isList ? itemAt(text, at ?? text.length) : { start: 0, end: text.length, text }
  }
  const box = useCombobox<Option>({
    find: async (signal) => {
      const part = place().text.replaceAll('`', '').trim()
      const found = await findFields(streamId, part, kind, signal)
      const { fields, nearest, complete } = found
      const named = own.filter((name) => name.includes(foldName(part)))
      const isNone = fields.length + named.length === 0
      told.value = isNone && part !== '' ? unknownText(streamId, part, complete) : ''
      const options = [...fields, ...nearest].map(({ path, name, types, share }) => {
        return { text: takesPaths ? path : name, note: fieldNote(types, share) }
      })
      return [...named.map((text) => ({ text, note: '' })), ...options]
    },
    onTake: ({ text }) => {
      const { start, end } = place()
      const whole = value.slice(0, start) + text + value.slice(end)
      onInput(whole)
      onTake?.(whole)
      queueMicrotask(() => {
        input.current?.focus()
        input.current?.setSelectionRange(start + text.length, start + text.length)
      })
    },
  })
  return (
    <span class="combobox">
      <input
        {...box.input}
        ref={(element) => {
          input.current = element
          if (props.inputRef) props.inputRef.current = element
        }}
        id={props.id}
        aria-label={props.label}
        aria-describedby={props.hintId}
        placeholder={props.placeholder}
        required={props.required}
        value={value}
        onInput={(event) => {
          onInput(event.currentTarget.value)
          box.lookUp()
        }}
      />
      {box.isOpen.value && (box.shown.value.length > 0 || told.value !== '') && (
        <Proposals box={box} told={told.value} input={input} />
      )}
    </span>
  )
}

interface ProposalsProps {
  readonly box: ReturnType<typeof useCombobox<Option>>
  readonly told: string
  readonly input: { readonly current: HTMLInputElement | null }
}

/** Over everything else, below the input or above it: nothing around it cuts it off. */
function Proposals({ box, told, input }: ProposalsProps) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    let frame = 0
    // What is above the input may become taller, and the page may scroll.
    const follow = () => {
      placeBeside(list.current!, input.current!)
      frame = requestAnimationFrame(follow)
    }
    follow()
    return () => cancelAnimationFrame(frame)
  }, [])
  const { chosen, listId, shown, take } = box
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen.value])
  return (
    <div class="field-options" ref={list} onPointerDown={(event) => event.preventDefault()}>
      {told !== '' && (
        <p class="quiet" role="status">
          <bdi>{visibleLine(told)}</bdi>
          {shown.value.length > 0 && '; nearest:'}
        </p>
      )}
      <div id={listId} role="listbox" aria-label="Fields">
        {shown.value.map((option, index) => (
          <div
            key={option.text}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            tabIndex={-1}
            onPointerUp={() => take(option)}
          >
            <bdi class="mono">{visibleLine(option.text)}</bdi>
            <span class="quiet">{option.note}</span>
          </div>
        ))}
      </div>
    </div>
  )
}

function placeBeside(list: HTMLElement, input: HTMLElement): void {
  const { left, top, bottom, width } = input.getBoundingClientRect()
  const { style } = list
  const isBelow = innerHeight - bottom > Math.min(top, MIN_HEIGHT)
  style.minWidth = `${Math.max(width, Math.min(MIN_WIDTH, innerWidth - 16))}px`
  style.left = `${Math.max(8, Math.min(left, innerWidth - list.offsetWidth - 8))}px`
  style.top = isBelow ? `${bottom}px` : 'auto'
  style.bottom = isBelow ? 'auto' : `${innerHeight - top}px`
  const room = (isBelow ? innerHeight - bottom : top) - 8
  style.maxHeight = `${Math.max(MAX_HEIGHT / 4, Math.min(MAX_HEIGHT, room))}px`
}

const MIN_WIDTH = 288
const MIN_HEIGHT = 240
const MAX_HEIGHT = 320

/** With a label above and a hint below it, in forms: a list of paths. */
export function PathsField({
  label,
  hint,
  ...props
}: FieldInputProps & { readonly label: string; readonly hint: string }) {
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => <FieldInput {...props} id={id} hintId={hintId} isList takesPaths />}
    </Field>
  )
}
