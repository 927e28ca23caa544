import { bundleOf } from '../vite.config.ts'

export default bundleOf('lists/lists.ts', 'lists')
