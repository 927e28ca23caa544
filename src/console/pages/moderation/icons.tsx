import { IconCheck, IconX } from '../../ui/icons.tsx'

export const ApproveIcon = () => <IconCheck size={16} color="var(--mantine-color-teal-6)" aria-hidden />
export const RejectIcon = () => <IconX size={16} color="var(--mantine-color-red-6)" aria-hidden />
