import { visibleLine } from '../../src/language/visible-text.ts'
import { ownToken, type Scope } from '../base/rights.ts'
import { signOut } from '../base/sign-in.ts'
import { findStream } from '../base/stream.ts'

/** In place of what a stream holds that the token does not see: what it sees, and what to ask for. */
export function LackingStream({ id }: { id: string }) {
  const { value: own } = ownToken
  return (
    <section class="card">
      <h2>This token sees no stream with the id {id}</h2>
      <p>
        The stream was deleted, or the token is not for it. To see it takes a token of the stream's
        owner that is not limited to other streams, or an admin's.
        {own !== undefined && (
          <>
            {' '}
            This one is of the owner <bdi class="name">{visibleLine(own.owner)}</bdi>
            {own.streams !== '*' && `, for ${own.streams.map(nameOf).join(', ')} alone`}.
          </>
        )}
      </p>
      <button type="button" onClick={() => void signOut()}>
        Sign in with another token
      </button>
    </section>
  )
}

function nameOf(id: string): string {
  return visibleLine(findStream(id)?.name ?? `the stream ${id}`)
}

/** In place of a screen that the token may not see: what it may, and what is missing. */
export function Lacking({ scope, what }: { scope: Scope; what: string }) {
  return (
    <section class="card">
      <h1>This token cannot {what}</h1>
      <p>
        That needs a token with the scope <code>{scope}</code>. This one has{' '}
        {ownToken.value?.scopes.map((one, index) => (
          <span key={one}>
            {index > 0 && ', '}
            <code>{one}</code>
          </span>
        ))}
        .
      </p>
      <button type="button" onClick={() => void signOut()}>
        Sign in with another token
      </button>
    </section>
  )
}
