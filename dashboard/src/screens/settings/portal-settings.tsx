import { type ChangeEvent, useState } from 'react';
import { choicesOf } from '../../api/members-of.ts';
import type { Settings } from '../../api/settings.ts';
import { Button } from '../../parts/button.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ChoiceSetting, Group, TextSetting } from './draft-fields.tsx';
import type { Draft } from './use-draft.ts';

const themes = choicesOf<Settings['portal']['theme']>({
  auto: 'As the system of the customer',
  light: 'Light',
  dark: 'Dark',
});

/** How portals look to customers. */
export function PortalSettings({ draft }: { readonly draft: Draft }) {
  return (
    <Group
      title="Portal"
      lead="How the portals look that you open for your customers. Everyone can see this."
    >
      <TextSetting draft={draft} path="portal.name" label="Title" help="Empty: the name of the instance." />
      <LogoSetting draft={draft} />
      <TextSetting
        draft={draft}
        path="portal.accentColor"
        label="Colour"
        placeholder="#1055c9"
        help="Empty: the one above."
      />
      <ChoiceSetting draft={draft} path="portal.theme" label="Theme" choices={themes} />
      <TextSetting
        draft={draft}
        path="portal.returnUrl"
        label="Link back"
        inputMode="url"
        placeholder="https://shop.example.com/account"
        help="Where customers go from the portal. Empty: no link."
      />
    </Group>
  );
}

const bytesMax = 32 * 1024;

function LogoSetting({ draft }: { readonly draft: Draft }) {
  const [isTooLarge, setIsTooLarge] = useState(false);
  const logo = draft.text('portal.logo');
  const choose = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    const [file] = target.files ?? [];
    if (file === undefined) return;
    setIsTooLarge(file.size > bytesMax);
    if (file.size > bytesMax) return;
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') draft.set('portal.logo', reader.result);
    });
    reader.readAsDataURL(file);
  };
  return (
    <div className="settings-logo">
      <label htmlFor="portal-logo">Logo</label>
      {logo !== '' && <img src={logo} alt="The logo" height={24} />}
      <input
        id="portal-logo"
        type="file"
        accept="image/png,image/jpeg,image/webp,image/svg+xml"
        onChange={choose}
      />
      {logo !== '' && (
        <Button tone="quiet" onClick={() => draft.set('portal.logo', '')}>
          Remove the logo
        </Button>
      )}
      {isTooLarge && <Notice tone="failed">The image has more than 32 KiB.</Notice>}
    </div>
  );
}
