import { useNavigate } from 'react-router'

import { useShortcuts, useShortcutsSetting } from '../ui/inputs/keys.ts'

/** `/` goes to the search over all comments, for those who may use it. */
export function useSlash(isAllowed: boolean): void {
  const [isOn] = useShortcutsSetting()
  const navigate = useNavigate()
  useShortcuts(isOn && isAllowed, {
    '/': () => {
      const isThere = location.pathname.endsWith('/console/search')
      void navigate(isThere ? { search: location.search } : '/search', { replace: isThere, state: { isToType: true } })
    },
  })
}
