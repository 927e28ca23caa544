import { Button, Group, Text } from '@mantine/core'

import { signOut } from '../api/session.ts'
import { Dialog } from '../ui/inputs/dialog.tsx'
import { SignInForm } from './sign-in.tsx'

/**
 * Shown above the present page, which stays unchanged; waiting requests are sent after the sign-in.
 */
export function SignInAgain({ email }: { email: string }) {
  return (
    <Dialog title="Your sign-in has ended">
      <Text size="sm" mb="md">
        Sign in again to go on where you were. Nothing on the page is lost.
      </Text>
      <SignInForm email={email} />
      <Group mt="md">
        <Button variant="subtle" size="compact-sm" onClick={signOut}>
          Sign out instead
        </Button>
      </Group>
    </Dialog>
  )
}
