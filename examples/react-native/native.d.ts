// The types of what this page uses, as React Native 0.79 and Expo 53 have them. An app has those of
// the packages, which need Node 22.
declare module 'react-native' {
  import type { FC, ReactElement, ReactNode } from 'react'

  export const Button: FC<{ title: string; onPress: () => void }>
  export const Text: FC<{ children?: ReactNode }>
  export const TextInput: FC<{ accessibilityLabel?: string; value?: string; onChangeText?: (text: string) => void }>
  export const View: FC<{ children?: ReactNode }>
  export function FlatList<Item>(props: {
    data: readonly Item[]
    keyExtractor: (item: Item) => string
    renderItem: (info: { item: Item }) => ReactElement
    ListHeaderComponent?: ReactElement
    onEndReached?: () => void
  }): ReactElement
}

// React Native's own `fetch` cannot read a stream while it comes. Expo's can.
declare module 'expo/fetch' {
  export const fetch: typeof globalThis.fetch
}
