import { Anchor, Button, Group, Text } from '@mantine/core'

import { signOut } from '../api/sign-in.ts'
import { isSignOnOffered, startUrl } from '../api/sign-on.ts'
import { Dialog } from '../ui/inputs/dialog.tsx'
import { SignInForm } from './sign-in.tsx'

/**
 * Shown above the present page, which stays unchanged; waiting requests are sent after the sign-in.
 */
export function SignInAgain({ known }: { known: { email: string; tenant: string } }) {
  return (
    <Dialog title="Your sign-in has ended">
      <Text size="sm" mb="md">
        Sign in again to go on where you were. Nothing on the page is lost.
      </Text>
      <SignInForm known={known} />
      <Group mt="md">
        {isSignOnOffered && (
          <Anchor size="sm" href={startUrl(known.tenant)} target="_blank">
            Use your identity provider
          </Anchor>
        )}
        <Button variant="subtle" size="compact-sm" onClick={() => void signOut()}>
          Sign out instead
        </Button>
      </Group>
    </Dialog>
  )
}
