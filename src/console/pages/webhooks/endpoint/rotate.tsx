import { useRef, useState } from 'react'

import {
  type EndpointFragment,
  RotateWebhookSecretDocument,
  WebhookEndpointDocument,
} from '../../../../generated/console.ts'
import { useWrite } from '../../../api/queries.ts'
import { Confirm } from '../../../ui/inputs/confirm.tsx'
import { Countdown } from '../../../ui/countdown.tsx'
import { SecretOnce } from '../../../ui/secret.tsx'

/**
 * Gives an endpoint a new signing secret. A rotation under way is ended only after a confirmation.
 */
export function Rotate({ endpoint: { id, secrets }, onClose }: { endpoint: EndpointFragment; onClose: () => void }) {
  const rotate = useWrite(RotateWebhookSecretDocument, [WebhookEndpointDocument])
  const [made, setMade] = useState<{ kid: string; secret: string | null; standardSecret: string | null } | null>(null)
  // The dialog is closed once it is answered, before this is drawn again; the secret must outlive
  // that.
  const isMade = useRef(false)
  // The state at the time of the question, because the answer changes the page's data.
  const [ending] = useState(() => secrets.find(({ expiresAt }) => expiresAt !== null))
  if (made !== null) {
    return (
      <SecretOnce
        title={`The new signing secret, ${made.kid}`}
        secret={made.secret}
        standardSecret={made.standardSecret}
        warning="This is the only time that it is shown. The previous one also signs for 24 hours. Until then your receiver needs both."
        onClose={onClose}
      />
    )
  }
  return (
    <Confirm
      title="Rotate the signing secret?"
      action={ending === undefined ? 'Rotate' : `End ${ending.kid} and rotate`}
      color={ending === undefined ? 'indigo' : 'red'}
      onConfirm={async () => {
        const { rotateWebhookSecret } = await rotate.mutateAsync({ input: { id, force: ending !== undefined } })
        isMade.current = true
        setMade(rotateWebhookSecret)
      }}
      onClose={() => isMade.current || onClose()}
    >
      {ending?.expiresAt == null ? (
        'The new secret signs from now on. For 24 hours the previous one also signs, in a header of its own, so that your receiver can switch without refusing a delivery.'
      ) : (
        <>
          The last rotation is still under way: {ending.kid} expires <Countdown until={ending.expiresAt} />. Rotating
          now ends it at once: a receiver that knows only that secret refuses all deliveries.
        </>
      )}
    </Confirm>
  )
}
