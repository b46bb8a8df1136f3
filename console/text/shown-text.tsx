import type { Piece } from './pieces.ts'

/**
 * Text of an event as text, isolated: writing from right to left in it changes nothing beside it.
 * Of it only what is between pieces becomes elements, and those have no more than a class.
 */
export function ShownText({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <bdi>
      {pieces.map(({ text, style, isMatch }, index) => {
        if (isMatch) return <mark key={index}>{text}</mark>
        return style === '' ? (
          text
        ) : (
          <span key={index} class={style}>
            {text}
          </span>
        )
      })}
    </bdi>
  )
}
