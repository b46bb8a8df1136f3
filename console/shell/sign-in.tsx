import { useSignal } from '@preact/signals'
import { ApiError, failureText } from '../base/api.ts'
import { route } from '../base/route.ts'
import { signedOutBecause } from '../base/session.ts'
import { signInWith } from '../base/sign-in.ts'
import { Failure } from '../parts/failure.tsx'
import { TextField } from '../parts/form.tsx'
import { isNowhere } from './remembered-stream.ts'
import { NEEDS } from './screen-needs.ts'

/** Asks for an access token, and exchanges it for a cookie: the page keeps nothing of it. */
export function SignIn() {
  const text = useSignal('')
  const isBusy = useSignal(false)
  const typedFailure = useSignal<string | undefined>(undefined)
  const failure = typedFailure.value ?? signedOutBecause.value
  const submit = async (event: Event) => {
    event.preventDefault()
    isBusy.value = true
    try {
      await tryToken(text.value.trim())
    } catch (cause) {
      typedFailure.value = failureText(cause)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Sluice</h1>
        {!isNowhere() && <LinkNeeds />}
        <TextField
          label="Access token"
          type="password"
          value={text.value}
          onInput={(value) => {
            text.value = value
          }}
          placeholder="lap_…"
          required
          autoFocus
          hint={
            <>
              The first admin token is in the file <code>admin-token</code> of the data directory:{' '}
              <code>cat data/admin-token</code>. The page does not keep it. This browser stays
              signed in for 30 days, 7 without use, and no longer than the token works.
            </>
          }
        />
        {failure !== undefined && <Failure text={failure} />}
        <button type="submit" class="primary" disabled={isBusy.value || text.value.trim() === ''}>
          {isBusy.value ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}

/** Who follows a link learns what to ask for, and that the link is not lost. */
function LinkNeeds() {
  const { screen, streamId } = route.value
  const [scope] = NEEDS[screen]
  return (
    <p>
      Sign in to see what the link shows. That needs an access token with the scope{' '}
      <code>{scope}</code>
      {streamId !== undefined && ` that sees the stream with the id ${streamId}`}.
    </p>
  )
}

/** Throws unless the service takes the token. */
async function tryToken(text: string): Promise<void> {
  if (!/^lap_\w+$/.test(text)) {
    const isKey = text.startsWith('lax_')
    throw new Error(
      isKey
        ? 'This is an API key (lax_…), which can only send events. An access token begins with lap_.'
        : 'An access token begins with lap_.',
    )
  }
  try {
    await signInWith(text)
  } catch (cause) {
    const isUnknown = cause instanceof ApiError && cause.status === 401
    throw isUnknown ? new Error('The service does not know this token.') : cause
  }
}
