import { choicePreference, readText, usePreference, writeText } from './preferences.ts';

// The keys and the attributes are those of set-theme.js, which runs before the first paint.
const themePreference = choicePreference('chancery:theme', ['auto', 'light', 'dark']);
const suggestedKey = 'chancery:suggested-theme';
const densityPreference = choicePreference('chancery:density', ['regular', 'compact', 'roomy']);

export type Theme = typeof themePreference.fallback;
export type Density = typeof densityPreference.fallback;

export function useTheme(): Theme {
  return usePreference(themePreference);
}

export function setTheme(theme: Theme): void {
  writeText(themePreference.key, theme);
  document.documentElement.dataset['theme'] = theme;
}

/** The theme where the person has chosen none. It is kept as well, so that the next page has it from its first paint on. */
export function suggestTheme(theme: Theme): void {
  writeText(suggestedKey, theme === 'auto' ? undefined : theme);
  document.documentElement.dataset['theme'] = readText(themePreference.key) ?? theme;
}

export function useDensity(): Density {
  return usePreference(densityPreference);
}

export function setDensity(density: Density): void {
  writeText(densityPreference.key, density);
  document.documentElement.dataset['density'] = density;
}

/** The height of a row in pixels, as tokens.css has it: the virtual table has to know it before it draws. */
export const rowHeights: Readonly<Record<Density, number>> = { compact: 28, regular: 32, roomy: 40 };
