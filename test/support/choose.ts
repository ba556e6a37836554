import type { Page } from 'playwright-core';

/** Chooses an option of the combobox with this label, by its name. */
export async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${label}: `) }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}
