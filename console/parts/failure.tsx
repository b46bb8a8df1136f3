import type { ComponentChildren } from 'preact'

/** What went wrong, where it was asked for; read out at once. */
export function Failure({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <div class="failure" role="alert">
      <span aria-hidden="true">⚠</span> {text} {children}
    </div>
  )
}
