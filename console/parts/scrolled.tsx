import type { ComponentChildren } from 'preact'

/** A box that scrolls sideways where it has to, and has nothing in it that takes the focus. */
export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
