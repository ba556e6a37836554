import { Logo, ReturnLink, usePortalLook } from '../../parts/portal-look.tsx';

/** What is there when the session of a portal is over. */
export function PortalClosed() {
  const look = usePortalLook(true);
  return (
    <div className="entrance">
      <header className="entrance-head">
        <Logo logo={look?.logo} />
        {look?.name}
      </header>
      <main className="entrance-body">
        <div className="entrance-card">
          <div>
            <h1>The portal is closed</h1>
            <p className="soft">
              Its link was already used, or your session has ended. Open the portal again from the application
              that linked to it.
            </p>
          </div>
          <ReturnLink url={look?.returnUrl ?? ''} />
        </div>
      </main>
    </div>
  );
}
