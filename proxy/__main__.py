"""`python -m proxy` is `reprise`."""

from proxy.cli.main import main

main()
