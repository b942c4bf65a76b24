"""What pages are made of: the document, text, tables and charts as inline SVG."""
