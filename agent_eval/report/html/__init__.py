"""Results as one HTML page that needs no network: the page's parts lie beside this file."""
