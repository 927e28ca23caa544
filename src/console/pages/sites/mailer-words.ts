import type { GuestMailerQuery } from '../../../generated/console.ts'

type Mailer = NonNullable<GuestMailerQuery['guestMailer']>

/** Why guests cannot write, or get no mails; null if nothing is known to be wrong. */
export function lackOf({ state, url, lastFailure }: Mailer): string | null {
  switch (state) {
    case 'none':
      return 'Guests cannot write: no address is set that sends the mails (Settings, guests).'
    case 'refused':
      return `Guests cannot write: the service may not call ${url}, which sends the mails. It must be an https address that is not private.`
    case 'unsigned':
      return 'Guests cannot write: there is no secret to sign the mails with. Create one (Settings, guests).'
    case 'failing':
      return `Guests get no mails: ${url} did not take the last one (${lastFailure}).`
    case 'ready':
      return null
  }
}

/** The same in few words. */
export const LACKS: Readonly<Record<Mailer['state'], string | null>> = {
  none: 'no address for mails',
  refused: 'address for mails is refused',
  unsigned: 'no secret for mails',
  failing: 'mails fail',
  ready: null,
}
