import { Entrance } from '../../parts/entrance.tsx';
import { Logo, ReturnLink, usePortalLook } from '../../parts/portal-look.tsx';

/** What is there when the session of a portal is over. */
export function PortalClosed() {
  const look = usePortalLook(true);
  const head = (
    <>
      <Logo logo={look?.logo} />
      {look?.name}
    </>
  );
  return (
    <Entrance
      title="The portal is closed"
      lead="Its link was already used, or your session has ended. Open the portal again from the application that linked to it."
      head={head}
      foot={null}
    >
      <ReturnLink url={look?.returnUrl ?? ''} />
    </Entrance>
  );
}
