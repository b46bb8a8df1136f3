import { tell } from './notices.tsx'

/** Copies `text`, and says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button type="button" class="small" onClick={() => copy(text)}>
      {label}
    </button>
  )
}

/** Also where the page is not from a secure origin, which browsers keep from the clipboard. */
export function copy(text: string): void {
  const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
  done.then(
    () => tell('Copied'),
    () => tell(copyBySelection(text) ? 'Copied' : 'The browser does not let us copy', false),
  )
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'unseen'
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  return isCopied
}
