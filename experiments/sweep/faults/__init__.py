"""A sweep that is killed, robbed of its disk and lied to: what is left at the end?"""
