/** Columns by the mouse: a name is dragged to another place, its right edge to another width. */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { route } from '../base/route.ts'
import { bounded, type Column, headName, moved, type Params, resized, widthOf } from './columns.ts'

interface DragPlace {
  /** The names. */
  readonly row: { readonly current: HTMLElement | null }
  /** Changes the address, and leaves the focus at the name. */
  readonly change: (params: Params | undefined, name: string) => void
}

export interface Drag {
  /** Where the column would go that is dragged. */
  readonly drop: { readonly value: number | undefined }
  /** Whether the click that comes now ends a drag. */
  readonly ended: () => boolean
  readonly ofName: (index: number) => object
  readonly ofEdge: (index: number) => object
}

/** Less is a click by an unsteady hand. */
const NAME_PX = 6
/** An edge follows at once, but a click on it moves nothing. */
const EDGE_PX = 2

export function useDrag({ row, change }: DragPlace, columns: readonly Column[]): Drag {
  const drop = useSignal<number | undefined>(undefined)
  const from = useRef<{ x: number; width: number } | undefined>(undefined)
  const wasDrag = useRef(false)
  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return
    const element = event.currentTarget as HTMLElement
    element.setPointerCapture(event.pointerId)
    wasDrag.current = false
    from.current = { x: event.clientX, width: element.parentElement!.offsetWidth }
  }
  const cancel = () => {
    from.current = undefined
    drop.value = undefined
  }
  const cells = () => [...row.current!.children].slice(-columns.length) as HTMLElement[]
  const overAt = (x: number) => {
    const at = cells().findIndex((cell) => x < cell.getBoundingClientRect().right)
    return at < 0 ? columns.length - 1 : at
  }
  /** Whether the pointer has left where it went down, ever since. */
  const isDragged = (x: number, least: number) => {
    if (from.current === undefined) return false
    wasDrag.current ||= Math.abs(x - from.current.x) >= least
    return wasDrag.current
  }
  const ofName = (index: number) => ({
    onPointerDown: begin,
    onPointerMove: ({ clientX }: PointerEvent) => {
      if (isDragged(clientX, NAME_PX)) drop.value = overAt(clientX)
    },
    onPointerUp: () => {
      const { value: to } = drop
      cancel()
      if (to !== undefined) change(moved(columns, index, to - index), headName(columns[index]!))
    },
    onPointerCancel: cancel,
  })
  const ofEdge = (index: number) => {
    const column = columns[index]!
    const show = (width: number | undefined) => {
      const { style } = row.current!.closest<HTMLElement>('.event-grid')!
      if (width === undefined) style.removeProperty(`--w${index}`)
      else style.setProperty(`--w${index}`, `${width}px`)
    }
    const widthAt = (x: number) => bounded(from.current!.width + x - from.current!.x)
    return {
      onPointerDown: begin,
      onPointerMove: ({ clientX }: PointerEvent) => {
        if (isDragged(clientX, EDGE_PX)) show(widthAt(clientX))
      },
      onPointerUp: ({ clientX }: PointerEvent) => {
        if (isDragged(clientX, EDGE_PX)) {
          change(resized(column, widthAt(clientX), route.value.params), headName(column))
        }
        cancel()
      },
      onPointerCancel: () => {
        show(widthOf(column, route.value.params))
        cancel()
      },
      onDblClick: () => {
        change(resized(column, undefined, route.value.params), headName(column))
      },
    }
  }
  return { drop, ended: () => wasDrag.current, ofName, ofEdge }
}
